// Nothing: this module makes the package manager compile the modules that it depends on.
