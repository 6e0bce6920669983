package main

// writable always returns nil: there is no way to find out without creating a file.
func writable(dir string) error { return nil }
