"""Mirror-descent steps on the clipped simplex: pure compiled functions that work in place."""
