package main

// writable knows no way to ask, short of trying, whether files can be made in
// dir, so that it trusts they can.
func writable(dir string) error { return nil }
