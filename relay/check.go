package relay

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
)

// maxBrowserContexts limits the browser contexts of a client.
const maxBrowserContexts = 16

// checkNavigate checks the URL of a navigation, or of a new page.
func checkNavigate(_ context.Context, c *client, cmd *command) error {
	return cmd.rewrite(func(p map[string]any) error {
		s, _ := p["url"].(string)
		address, err := c.server.checkURL(s)
		p["url"] = address
		return err
	})
}

// checkCreateTarget checks the URL and the browser context of a new page.
func checkCreateTarget(ctx context.Context, c *client, cmd *command) error {
	if err := checkBrowserContext(ctx, c, cmd); err != nil {
		return err
	}
	if err := checkNavigate(ctx, c, cmd); err != nil {
		return err
	}
	return cmd.rewrite(func(p map[string]any) error {
		if hidden := p["hidden"]; hidden != nil && hidden != false {
			return denied("Omit the parameter hidden.", "pages that are not in a window are not allowed")
		}
		return nil
	})
}

// checkBrowserContext checks the parameter browserContextId.
func checkBrowserContext(_ context.Context, c *client, cmd *command) error {
	id, err := cmd.text("browserContextId")
	if err != nil || id == "" {
		return err
	}
	if owner := c.server.browserContextOwner(id); owner != nil && owner != c {
		return chromiumError(codeServer, "Failed to find browser context with id "+id)
	}
	return nil
}

// ownsBrowserContext reports whether the command is for a browser context that the client created.
func (c *client) ownsBrowserContext(cmd *command) bool {
	id, _ := cmd.text("browserContextId")
	if id == "" {
		id = cmd.session.target.ContextID
	}
	return c.server.browserContextOwner(id) == c
}

// checkOwnBrowserContext denies a command that affects all pages of a browser context, unless the
// client created it.
func checkOwnBrowserContext(_ context.Context, c *client, cmd *command) error {
	if !c.ownsBrowserContext(cmd) {
		return denied("Send it to a page of a browser context that the client created.",
			"it would affect all pages of the browser")
	}
	return nil
}

// checkWindowForTarget checks the target of Browser.getWindowForTarget, whose result names a window.
func checkWindowForTarget(ctx context.Context, c *client, cmd *command) error {
	cmd.filter = func(result json.RawMessage) json.RawMessage {
		var res struct{ WindowID int64 }
		if json.Unmarshal(result, &res) == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.windows[res.WindowID] = true
		}
		return result
	}
	return checkTargetID(ctx, c, cmd)
}

// checkWindow accepts the windows that results of Browser.getWindowForTarget named: those of targets
// that the client sees.
func checkWindow(_ context.Context, c *client, cmd *command) error {
	raw, err := cmd.value("windowId")
	if err != nil {
		return err
	}
	id, ok := integer(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ok || !c.windows[id] {
		return chromiumError(codeServer, "Browser window not found")
	}
	return nil
}

// checkCancelDownload accepts the downloads that events for the client named.
func checkCancelDownload(ctx context.Context, c *client, cmd *command) error {
	id, err := cmd.text("guid")
	if err != nil {
		return err
	}
	if seen, _ := c.downloads.get(id); !seen {
		return chromiumError(codeInvalidParams, "No download item found for the given GUID")
	}
	return checkBrowserContext(ctx, c, cmd)
}

// checkCreateBrowserContext denies the client's proxy, and limits the number of browser contexts.
func checkCreateBrowserContext(_ context.Context, c *client, cmd *command) error {
	err := cmd.rewrite(func(p map[string]any) error {
		for _, name := range []string{"proxyServer", "proxyBypassList", "originsWithUniversalNetworkAccess"} {
			list, isList := p[name].([]any)
			if v := p[name]; v != nil && v != "" && (!isList || len(list) > 0) {
				return denied("Omit it.", "%s cannot be set", name)
			}
			delete(p, name)
		}
		p["disposeOnDetach"] = true
		return nil
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.contexts >= maxBrowserContexts {
		return executor.Errorf(executor.ErrBackpressure, "Dispose of one first.",
			"the client has %d browser contexts", c.contexts)
	}
	c.contexts++
	cmd.failed = c.releaseBrowserContext
	cmd.filter = func(result json.RawMessage) json.RawMessage {
		var res struct{ BrowserContextID string }
		_ = json.Unmarshal(result, &res)
		c.server.mu.Lock()
		defer c.server.mu.Unlock()
		c.server.contexts[res.BrowserContextID] = c
		return result
	}
	return nil
}

// releaseBrowserContext decrements the number of the client's browser contexts.
func (c *client) releaseBrowserContext() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.contexts--
}

// checkDisposeBrowserContext accepts the browser contexts that the client created.
func checkDisposeBrowserContext(_ context.Context, c *client, cmd *command) error {
	id, err := cmd.text("browserContextId")
	if err != nil {
		return err
	}
	if c.server.browserContextOwner(id) != c {
		return chromiumError(codeServer, "Failed to find context with id "+id)
	}
	cmd.filter = func(result json.RawMessage) json.RawMessage {
		c.server.mu.Lock()
		known := c.server.contexts[id] == c
		delete(c.server.contexts, id)
		c.server.mu.Unlock()
		if known {
			c.releaseBrowserContext()
		}
		return result
	}
	return nil
}

// filterBrowserContexts removes the browser contexts of other clients from the result.
func filterBrowserContexts(_ context.Context, c *client, cmd *command) error {
	cmd.filter = func(result json.RawMessage) json.RawMessage {
		res := object(result)
		if list, ok := res["browserContextIds"].([]any); ok {
			res["browserContextIds"] = slices.DeleteFunc(list, func(v any) bool {
				id, _ := v.(string)
				return c.server.browserContextOwner(id) != c
			})
		}
		return encode(res)
	}
	return nil
}

// filterTargets removes hidden targets from the result.
func filterTargets(_ context.Context, c *client, cmd *command) error {
	cmd.filter = func(result json.RawMessage) json.RawMessage {
		var res struct{ TargetInfos []json.RawMessage }
		_ = json.Unmarshal(result, &res)
		visible := []json.RawMessage{}
		for _, raw := range res.TargetInfos {
			var t target
			if json.Unmarshal(raw, &t) == nil && c.server.visible(t, c) {
				visible = append(visible, raw)
			}
		}
		return encode(map[string]any{"targetInfos": visible})
	}
	return nil
}

// checkTargetID checks the parameter targetId, if there is one.
func checkTargetID(ctx context.Context, c *client, cmd *command) error {
	id, err := cmd.text("targetId")
	if err != nil || id == "" {
		return err
	}
	return c.checkTarget(ctx, id)
}

// checkFlatten requires sessions of the flat protocol: the messages of other sessions are strings in
// Target.sendMessageToTarget and Target.receivedMessageFromTarget.
func checkFlatten(cmd *command) error {
	raw, err := cmd.value("flatten")
	if err == nil && string(raw) != "true" {
		err = invalidParams("only the flat protocol is supported; set flatten to true")
	}
	return err
}

// checkAttach checks the target to which a client attaches.
func checkAttach(ctx context.Context, c *client, cmd *command) error {
	if err := checkFlatten(cmd); err != nil {
		return err
	}
	return checkTargetID(ctx, c, cmd)
}

// checkAutoAttach checks the protocol of the sessions that the browser attaches automatically, and
// the target of Target.autoAttachRelated. The event attachedToTarget decides which of them the client
// sees.
func checkAutoAttach(ctx context.Context, c *client, cmd *command) error {
	if cmd.method == "Target.autoAttachRelated" { // is always flat, and has no parameter autoAttach
		return checkTargetID(ctx, c, cmd)
	}
	raw, err := cmd.value("autoAttach")
	switch {
	case err != nil:
		return err
	case string(raw) == "false":
		cmd.session.setAutoAttach(false)
		return nil
	}
	if err := checkFlatten(cmd); err != nil {
		return err
	}
	cmd.session.setAutoAttach(true)
	return nil
}

// checkDetach accepts the CDP sessions of the client, except for its root session.
func checkDetach(_ context.Context, c *client, cmd *command) error {
	id, err := cmd.text("sessionId")
	if err != nil {
		return err
	}
	if !c.sessions.canDetach(id) {
		return chromiumError(codeInvalidParams, "No session with given id")
	}
	return nil
}

// executionContextParams are the parameters that name an execution context.
var executionContextParams = map[string]bool{"contextId": true, "executionContextId": true, "uniqueContextId": true}

// checkExecutionContext accepts the execution contexts that the session's events named. It denies
// our isolated world.
func checkExecutionContext(_ context.Context, _ *client, cmd *command) error {
	var err error
	members(cmd.params, func(key, value []byte) bool {
		if executionContextParams[string(key)] && !cmd.session.contexts.knows(value) {
			err = chromiumError(codeServer, "Cannot find context with specified id")
		}
		return err == nil
	})
	return err
}

// checkWorld denies the names of our isolated world and binding.
func checkWorld(ctx context.Context, c *client, cmd *command) error {
	var err error
	members(cmd.params, func(key, value []byte) bool {
		s, _ := text(value)
		switch string(key) {
		case "worldName", "executionContextName":
			if s == frames.WorldName {
				err = denied("Choose another name.", "chrome-mcp uses an isolated world of this name")
			}
		case "name":
			if cmd.method == "Runtime.addBinding" && s == page.BindingName {
				err = denied("Choose another name.", "chrome-mcp uses a binding of this name")
			}
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	return checkExecutionContext(ctx, c, cmd)
}

// checkCreateWorld is checkWorld for Page.createIsolatedWorld, whose result names an execution
// context.
func checkCreateWorld(ctx context.Context, c *client, cmd *command) error {
	cmd.filter = func(result json.RawMessage) json.RawMessage {
		var res struct{ ExecutionContextID int64 }
		if json.Unmarshal(result, &res) == nil {
			cmd.session.contexts.add(res.ExecutionContextID)
		}
		return result
	}
	return checkWorld(ctx, c, cmd)
}

// checkDownloads makes the browser name files by the id of the download: a name that a site chooses
// could replace a file. The backend chooses the directory.
func checkDownloads(ctx context.Context, c *client, cmd *command) error {
	if err := checkBrowserContext(ctx, c, cmd); err != nil {
		return err
	}
	return cmd.rewrite(func(p map[string]any) error {
		if p["behavior"] != "deny" {
			p["behavior"] = "allowAndName"
			if strings.HasPrefix(cmd.method, "Page.") {
				p["behavior"] = "allow" // allowAndName does not exist there
			}
		}
		return nil
	})
}

// checkResourceURL checks a command that reads the resource of a frame with a URL.
func checkResourceURL(_ context.Context, c *client, cmd *command) error {
	address, err := cmd.text("url")
	if err != nil {
		return err
	}
	return c.server.checkResource(address)
}

// succeed gives the client an empty result. The browser does not get the command.
func succeed(_ context.Context, _ *client, cmd *command) error {
	cmd.localResult = json.RawMessage("{}")
	return nil
}
