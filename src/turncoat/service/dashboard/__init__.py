"""The dashboard: `data` reads the store, `charts` draws SVG, `pages` renders HTML that needs no script."""
