package relay

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// A cookie has the fields of a cookie that a check reads.
type cookie struct {
	Domain       string
	Secure       bool
	SourceScheme string
}

// allowsCookie reports whether the policy allows the site of a cookie.
func (s *Server) allowsCookie(c cookie) bool {
	host := strings.TrimPrefix(c.Domain, ".")
	if host == "" || strings.ContainsAny(host, "/?#@\\% ") {
		return false
	}
	schemes := []string{"https"}
	if !c.Secure || c.SourceScheme == "NonSecure" {
		schemes = append(schemes, "http")
	}
	return slices.ContainsFunc(schemes,
		func(scheme string) bool { return s.opts.Policy.CheckCookies(scheme, host) == nil })
}

// filterCookies removes the cookies of denied sites from the result.
func filterCookies(ctx context.Context, c *client, cmd *command) error {
	cmd.filter = func(result json.RawMessage) json.RawMessage {
		return encode(map[string]any{"cookies": c.server.allowedCookies(result)})
	}
	return checkBrowserContext(ctx, c, cmd)
}

// allowedCookies returns the cookies of allowed sites in a result.
func (s *Server) allowedCookies(result json.RawMessage) []json.RawMessage {
	var res struct{ Cookies []json.RawMessage }
	_ = json.Unmarshal(result, &res)
	allowed := []json.RawMessage{}
	for _, raw := range res.Cookies {
		var x cookie
		if json.Unmarshal(raw, &x) == nil && s.allowsCookie(x) {
			allowed = append(allowed, raw)
		}
	}
	return allowed
}

// checkSetCookies checks the cookies that a client sets or deletes.
func checkSetCookies(ctx context.Context, c *client, cmd *command) error {
	if err := checkBrowserContext(ctx, c, cmd); err != nil {
		return err
	}
	return cmd.rewrite(func(p map[string]any) error {
		list := []any{p} // Network.setCookie and Network.deleteCookies
		if strings.HasSuffix(cmd.method, ".setCookies") {
			var ok bool
			if list, ok = p["cookies"].([]any); !ok {
				return invalidParams("cookies is not a list")
			}
		}
		for _, v := range list {
			fields, ok := v.(map[string]any)
			if !ok {
				return invalidParams("a cookie is not an object")
			}
			if err := c.server.checkCookie(fields); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkCookie checks the URL and the domain of a cookie. Chromium requires one of them.
func (s *Server) checkCookie(fields map[string]any) error {
	for _, name := range []string{"url", "domain"} {
		if _, ok := fields[name].(string); !ok && fields[name] != nil {
			return invalidParams("%s is not a string", name)
		}
	}
	if address, _ := fields["url"].(string); address != "" {
		if err := s.checkCookieURL(address); err != nil {
			return err
		}
	}
	if domain, _ := fields["domain"].(string); domain != "" {
		x := cookie{Domain: strings.ToLower(domain)}
		x.Secure, _ = fields["secure"].(bool)
		x.SourceScheme, _ = fields["sourceScheme"].(string)
		if !s.allowsCookie(x) {
			return denied("Name a domain that the policy allows.", "the policy does not allow the domain of the cookie")
		}
	}
	return nil
}

func (s *Server) checkCookieURL(address string) error {
	if address == blankURL {
		return invalidParams("the URL of a cookie is not http or https")
	}
	_, err := s.checkURL(address)
	return err
}

// checkClearCookies deletes all cookies of a browser context that the client created. In the
// default context, it deletes those of allowed sites.
func checkClearCookies(ctx context.Context, c *client, cmd *command) error {
	if err := checkBrowserContext(ctx, c, cmd); err != nil {
		return err
	}
	if c.ownsBrowserContext(cmd) {
		return nil
	}
	params := map[string]any{}
	if id, _ := cmd.text("browserContextId"); id != "" {
		params["browserContextId"] = id
	}
	var all json.RawMessage
	if err := c.browser.call(ctx, cmd.sessionID, "Storage.getCookies", params, &all); err != nil {
		return err
	}
	expired := []any{}
	for _, raw := range c.server.allowedCookies(all) {
		x := object(raw)
		x["expires"] = 1 // in 1970
		expired = append(expired, x)
	}
	params["cookies"] = expired
	if len(expired) > 0 {
		if err := c.browser.call(ctx, cmd.sessionID, "Storage.setCookies", params, nil); err != nil {
			return err
		}
	}
	cmd.localResult = json.RawMessage("{}")
	return nil
}
