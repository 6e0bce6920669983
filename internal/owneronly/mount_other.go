//go:build unix && !linux

package owneronly

// isReadOnly returns false.
func isReadOnly(string) bool { return false }

// isUnmapped returns false: there are no user namespaces.
func isUnmapped(uint32) bool { return false }
