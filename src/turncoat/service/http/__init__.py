"""The decision service over HTTP. `server` runs it, `app` puts it together, `table` lists what it answers."""
