package cdpendpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/relay"
)

// requestTimeout limits a request to an endpoint, which responds without the browser.
const requestTimeout = 10 * time.Second

// ClientsCommand returns the command cdp-clients.
func ClientsCommand(s *cli.Settings) *cobra.Command {
	cmd := s.Command("cdp-clients", "list or disconnect CDP clients", printClients)
	cmd.AddCommand(
		s.Command("list", "list the CDP clients", printClients),
		s.NameCommand("close", "CDP client", "chrome-mcp cdp-clients list", "disconnect a CDP client",
			func(ctx context.Context, name string, stdout io.Writer) error {
				return closeClients(ctx, s, name, stdout)
			}),
	)
	return cmd
}

// A clientList is the list of the clients of one endpoint.
type clientList struct {
	session   string // of the server; empty for an endpoint of --cdp-listen
	url       string // of the endpoint, which is secret without a session
	transport http.RoundTripper
}

// clientLists returns the running endpoints of the data directory: those of --cdp-listen, and those of
// the sessions of the server.
func clientLists(ctx context.Context, s *cli.Settings, client *server.Client) (all []clientList, err error) {
	for _, e := range Running(s.Data) {
		all = append(all, clientList{"", e.URL, &http.Transport{DisableKeepAlives: true}}) // without the proxy of the environment
	}
	sessions, err := client.AllSessions(ctx)
	if errors.Is(err, server.ErrNotRunning) {
		if err = nil; len(all) == 0 {
			err = errNotRunning()
		}
	}
	for _, session := range sessions {
		name := session.FullName()
		url, transport := client.DevTools(name)
		all = append(all, clientList{name, url, transport})
	}
	return all, err
}

// eachClient calls do for each CDP client. It continues after an error, and returns all errors joined.
func eachClient(ctx context.Context, s *cli.Settings, do func(l clientList, c relay.Client) error) error {
	client := server.NewClient(server.SocketPath(s.Data))
	defer client.Close()
	lists, err := clientLists(ctx, s, client)
	err = errors.Join(err, eachClientOf(ctx, lists, do))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// eachClientOf is eachClient for the clients of lists.
func eachClientOf(ctx context.Context, lists []clientList, do func(l clientList, c relay.Client) error) error {
	var errs []error
	for _, l := range lists {
		var clients []relay.Client
		errs = append(errs, l.request(ctx, http.MethodGet, "/json/clients", &clients))
		for _, c := range clients {
			errs = append(errs, do(l, c))
		}
	}
	return errors.Join(errs...)
}

// request sends a request to the endpoint, and decodes the response into result, which may be nil. A
// session that was closed, or has no CDP clients, has an empty response. Errors do not contain the URL.
func (l clientList) request(ctx context.Context, method, path string, result any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, l.url+path, nil)
	if err != nil {
		return executor.Errorf(executor.ErrInternal, "", "the file of a CDP endpoint has an invalid URL")
	}
	resp, err := l.transport.RoundTrip(r)
	if err != nil {
		return executor.Errorf(executor.ErrNoBackend, "", "the CDP endpoint does not respond: %w", err)
	}
	defer resp.Body.Close()
	switch {
	case l.session != "" && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusBadRequest):
		return nil
	case resp.StatusCode/100 != 2:
		return executor.Errorf(executor.ErrInternal, "Restart that chrome-mcp: it may have another version.",
			"the CDP endpoint responded with the status %d", resp.StatusCode)
	case result != nil:
		return json.NewDecoder(resp.Body).Decode(result)
	}
	return nil
}

// printClients prints the CDP clients, one per line.
func printClients(ctx context.Context, s *cli.Settings, stdout io.Writer) error {
	none := true
	err := eachClient(ctx, s, func(l clientList, c relay.Client) error {
		none = false
		session := ""
		if l.session != "" {
			session = ", session " + l.session
		}
		_, err := fmt.Fprintf(stdout, "%-10s %s since %s%s\n", c.ID, c.Name, c.Since.Format(time.DateTime), session)
		return err
	})
	if err == nil && none {
		_, err = fmt.Fprintln(stdout, "no CDP clients")
	}
	return err
}

// closeClients disconnects the client with an id, or those with a name, and prints them.
func closeClients(ctx context.Context, s *cli.Settings, name string, stdout io.Writer) error {
	none := true
	err := eachClient(ctx, s, func(l clientList, c relay.Client) error {
		if c.ID != name && c.Name != name {
			return nil
		}
		none = false
		if err := l.request(ctx, http.MethodDelete, "/json/clients/"+c.ID, nil); err != nil {
			return err
		}
		_, err := fmt.Fprintf(stdout, "disconnected %s %s\n", c.ID, c.Name)
		return err
	})
	if err == nil && none {
		err = executor.Errorf(executor.ErrBadArgs, "`chrome-mcp cdp-clients list` lists them.", "no CDP client %.80q is connected", name)
	}
	return err
}
