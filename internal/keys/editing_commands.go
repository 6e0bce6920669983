package keys

import "runtime"

// editingCommands returns the names of the editing commands of a chord on macOS. There the system,
// not the renderer, maps chords to commands: without the names Chrome ignores Meta+A. See the
// commands parameter of Input.dispatchKeyEvent.
func editingCommands(k Key, bits int64) []string {
	if runtime.GOOS != "darwin" || bits&bitMeta == 0 {
		return nil
	}
	switch k.code {
	case "KeyA":
		return []string{"selectAll"}
	case "KeyC":
		return []string{"copy"}
	case "KeyV":
		return []string{"paste"}
	case "KeyX":
		return []string{"cut"}
	case "KeyZ":
		if bits&bitShift != 0 {
			return []string{"redo"}
		}
		return []string{"undo"}
	}
	return nil
}
