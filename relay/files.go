package relay

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/internal/upload"
)

// checkFiles checks the files that a client gives to a page. The browser gets their resolved paths.
func checkFiles(_ context.Context, c *client, cmd *command) error {
	return cmd.rewrite(func(p map[string]any) error {
		if cmd.method == "Input.dispatchDragEvent" {
			p, _ = p["data"].(map[string]any)
		}
		list, ok := p["files"].([]any)
		if !ok && p["files"] != nil {
			return invalidParams("files is not a list")
		}
		for i, v := range list {
			path, _ := v.(string)
			resolved, err := upload.Resolve(c.server.opts.UploadsDir, path)
			if err != nil {
				return err
			}
			list[i] = resolved
		}
		return nil
	})
}
