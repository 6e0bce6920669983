package namedbrowser

// extensionBrowsers are the user's Chrome. There is at most one.
func extensionBrowsers() kind {
	return kind{
		name: Extension,
		keys: []key{colorKey()},
	}
}
