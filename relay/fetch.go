package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// requestPaused handles Fetch.requestPaused. A client that could fulfill the request for a denied
// document could run a script in the denied origin, so the request fails.
func (c *client) requestPaused(ctx context.Context, s *cdpSession, m *executor.CDPMessage) bool {
	var e struct {
		RequestID    string
		Request      struct{ URL string }
		ResourceType string
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return false
	}
	err := c.server.checkResource(e.Request.URL)
	if err != nil && e.ResourceType == "Document" {
		c.server.audit.record(&c.info, audit.CDPTool+"document", c.browser.conn.TabID(c.sessions.pageOf(s)), audit.Origin(e.Request.URL), err)
		c.background(ctx, s.id, "Fetch.failRequest", map[string]any{
			"requestId": e.RequestID, "errorReason": "BlockedByClient",
		})
		return false
	}
	s.paused.set(e.RequestID, err == nil)
	if err != nil {
		hidePausedCookies(m)
	}
	return true
}

// hidePausedCookies removes the cookies from an event about a paused request.
func hidePausedCookies(m *executor.CDPMessage) {
	e := object(m.Params)
	request, _ := e["request"].(map[string]any)
	headers, _ := request["headers"].(map[string]any)
	removeCookies(headers)
	if list, ok := e["responseHeaders"].([]any); ok {
		e["responseHeaders"] = slices.DeleteFunc(list, isCookieEntry)
	}
	m.Params = encode(e)
}

// isCookieEntry reports whether an entry of a list of headers has cookies.
func isCookieEntry(entry any) bool {
	h, _ := entry.(map[string]any)
	name, _ := h["name"].(string)
	return isCookieHeader(name)
}

// authRequired handles Fetch.authRequired. Clients do not authenticate to our proxy.
func (c *client) authRequired(ctx context.Context, s *cdpSession, m *executor.CDPMessage) bool {
	var e struct {
		RequestID     string
		Request       struct{ URL string }
		AuthChallenge struct{ Source string }
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return false
	}
	if e.AuthChallenge.Source == "Proxy" {
		c.background(ctx, s.id, "Fetch.continueWithAuth", map[string]any{
			"requestId": e.RequestID, "authChallengeResponse": map[string]any{"response": "Default"},
		})
		return false
	}
	s.paused.set(e.RequestID, c.server.checkResource(e.Request.URL) == nil)
	return true
}

// pausedRequest returns whether the policy allows reading the response to the paused request that cmd
// names.
func (cmd *command) pausedRequest() (allowed bool, err error) {
	id, err := cmd.text("requestId")
	if err != nil {
		return false, err
	}
	allowed, known := cmd.session.paused.get(id)
	if !known {
		return false, chromiumError(codeInvalidParams, "Invalid InterceptionId.")
	}
	return allowed, nil
}

// checkPaused accepts commands for requests that the session's events named.
func checkPaused(_ context.Context, c *client, cmd *command) error {
	_, err := cmd.pausedRequest()
	return err
}

// checkPausedBody checks a command that reads a response.
func checkPausedBody(_ context.Context, c *client, cmd *command) error {
	allowed, err := cmd.pausedRequest()
	if err == nil && !allowed {
		err = deniedBody()
	}
	return err
}

func deniedBody() error {
	return denied("Only responses of sites that the policy allows can be read.",
		"the policy does not allow the site of the response, or a service worker answered, possibly with one of another site")
}

// checkContinueRequest checks the URL and the Host header with which a request continues. It fails a
// request that must not continue like that.
func checkContinueRequest(ctx context.Context, c *client, cmd *command) error {
	if _, err := cmd.pausedRequest(); err != nil {
		return err
	}
	err := c.server.checkContinued(cmd)
	if err == nil {
		return nil
	}
	// Playwright and Puppeteer ignore the error. The page would wait for the response forever.
	id, _ := cmd.text("requestId")
	c.background(ctx, cmd.sessionID, "Fetch.failRequest", map[string]any{
		"requestId": id, "errorReason": "BlockedByClient",
	})
	return err
}

// checkContinued checks the URL and the headers of Fetch.continueRequest.
func (s *Server) checkContinued(cmd *command) error {
	return cmd.rewrite(func(p map[string]any) error {
		if raw, ok := p["url"]; ok {
			text, _ := raw.(string)
			address, err := s.checkURL(text)
			if err != nil {
				return err
			}
			p["url"] = address
		}
		headers, _ := p["headers"].([]any)
		for _, entry := range headers {
			h, _ := entry.(map[string]any)
			if err := s.checkHostHeader(h["name"], h["value"]); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkHostHeader denies a Host header that names a denied host: a server of several sites would
// respond for that host, not for the host of the URL.
func (s *Server) checkHostHeader(name, value any) error {
	n, _ := name.(string)
	host, _ := value.(string)
	if strings.EqualFold(n, "Host") && !s.allowsHost(map[string]any{"Host": host}) {
		return denied("Omit the Host header.", "the policy does not allow the host %q", fmt.Sprintf("%.100s", host))
	}
	return nil
}

// checkExtraHeaders checks Network.setExtraHTTPHeaders.
func checkExtraHeaders(_ context.Context, c *client, cmd *command) error {
	return cmd.rewrite(func(p map[string]any) error {
		headers, _ := p["headers"].(map[string]any)
		for name, value := range headers {
			if err := c.server.checkHostHeader(name, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkFulfill checks the headers of a response that a client creates or changes: its cookies are
// set for the site of the request.
func checkFulfill(_ context.Context, c *client, cmd *command) error {
	allowed, err := cmd.pausedRequest()
	if err != nil || allowed {
		return err
	}
	return cmd.rewrite(func(p map[string]any) error {
		headers, _ := p["responseHeaders"].([]any)
		for _, entry := range headers {
			if isCookieEntry(entry) {
				return denied("Omit the Set-Cookie headers.",
					"the policy does not allow the site of the request, so no cookies can be set for it")
			}
		}
		if p["binaryResponseHeaders"] != nil {
			return denied("Use responseHeaders.", "headers in binary form cannot be checked")
		}
		return nil
	})
}

// checkRequest checks a command that reads the response to a request.
func checkRequest(_ context.Context, c *client, cmd *command) error {
	id, err := cmd.text("requestId")
	if err != nil {
		return err
	}
	allowed, known := c.requests.bodies.get(id)
	switch {
	case !known: // or there is no response yet
		return chromiumError(codeServer, "No resource with given identifier found")
	case !allowed:
		return deniedBody()
	}
	return nil
}

// checkKnownRequest checks a command that reads a request: ids can be guessed, also those of requests
// of a page that was handed over.
func checkKnownRequest(_ context.Context, c *client, cmd *command) error {
	id, err := cmd.text("requestId")
	if err != nil {
		return err
	}
	if _, known := c.requests.known.get(id); !known {
		return chromiumError(codeServer, "No resource with given id was found")
	}
	return nil
}
