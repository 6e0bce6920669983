package page

import "runtime"

// editingCommands names the editing commands that a chord stands for on
// macOS, where the system, not the page's process, knows them: without the
// names Chrome ignores Meta+A there. See Input.dispatchKeyEvent, commands.
func editingCommands(k key, bits int64) []string {
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
