"""The decision service: experiments, decisions and rewards, kept in a database, used from any language."""
