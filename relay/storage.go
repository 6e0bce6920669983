package relay

import (
	"context"
	"strings"
)

// originParams are the parameters that name an origin or a storage key.
var originParams = []string{"origin", "securityOrigin", "storageKey", "embeddedOrigin", "embeddingOrigin"}

// checkStorage checks the origins that a command names. It requires one.
func checkStorage(ctx context.Context, c *client, cmd *command) error {
	return c.checkOrigins(ctx, cmd, true)
}

// checkPermissionOrigins checks the origins that a command names, if there are any.
func checkPermissionOrigins(ctx context.Context, c *client, cmd *command) error {
	return c.checkOrigins(ctx, cmd, false)
}

// checkOrigins checks the browser context and the origins that a command names.
func (c *client) checkOrigins(ctx context.Context, cmd *command, required bool) error {
	if err := checkBrowserContext(ctx, c, cmd); err != nil {
		return err
	}
	return cmd.rewrite(func(p map[string]any) error {
		var objects []map[string]any
		if !strings.HasPrefix(cmd.method, "DOMStorage.") { // whose commands have a storageId only
			objects = append(objects, p)
		}
		for _, name := range []string{"storageId", "storageBucket", "bucket"} {
			if m, ok := p[name].(map[string]any); ok {
				objects = append(objects, m)
			}
		}
		found := false
		for _, m := range objects {
			for _, name := range originParams {
				v, ok := m[name]
				if !ok || v == nil {
					continue
				}
				origin, _ := v.(string)
				if err := c.server.checkOrigin(origin); err != nil {
					return err
				}
				found = true
			}
		}
		if required && !found {
			return invalidParams("no origin or storage key")
		}
		return nil
	})
}

// checkCache checks the id of a cache, which begins with its storage key.
func checkCache(_ context.Context, c *client, cmd *command) error {
	id, err := cmd.text("cacheId")
	if err != nil {
		return err
	}
	key, _, ok := strings.Cut(id, "|")
	if !ok {
		return invalidParams("the cache id is malformed")
	}
	return c.server.checkOrigin(key)
}
