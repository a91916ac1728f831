"""Plain virtual machines under software emulation, on the files of the machine that runs the tests."""
