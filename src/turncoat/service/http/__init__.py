"""The decision service over HTTP. `server` runs it, `app` puts it together, `routes` lists what it answers."""
