"""The experiments of the published studies, by name: each a file of data in `presets`."""
