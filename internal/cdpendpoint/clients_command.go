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
	"github.com/chrome-mcp/chrome-mcp/relay"
)

// requestTimeout limits a request to an endpoint, which responds without the browser.
const requestTimeout = 10 * time.Second

// ClientsCommand returns the command cdp-clients.
func ClientsCommand(s *cli.Settings) *cobra.Command {
	cmd := s.Command("cdp-clients", "list or disconnect the CDP clients of --cdp-listen", printClients)
	cmd.AddCommand(
		s.Command("list", "list the CDP clients", printClients),
		s.NameCommand("close", "CDP client", "chrome-mcp cdp-clients list", "disconnect a CDP client",
			func(ctx context.Context, name string, stdout io.Writer) error {
				return closeClients(ctx, s, name, stdout)
			}),
	)
	return cmd
}

// eachClient calls do for each client of the running endpoints of the data directory, with the URL
// of its endpoint.
func eachClient(ctx context.Context, s *cli.Settings, do func(url string, c relay.Client) error) error {
	endpoints := Running(s.Data)
	if len(endpoints) == 0 {
		return errNotRunning()
	}
	for _, e := range endpoints {
		var clients []relay.Client
		err := request(ctx, http.MethodGet, e.URL+"/json/clients", &clients)
		for _, c := range clients {
			err = errors.Join(err, do(e.URL, c))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// request sends a request to an endpoint, and decodes the response into result, which may be nil.
// Its errors do not contain the URL, which is secret.
func request(ctx context.Context, method, url string, result any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return executor.Errorf(executor.ErrInternal, "", "the file of a CDP endpoint has an invalid URL")
	}
	transport := &http.Transport{DisableKeepAlives: true} // without the proxy of the environment
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return executor.Errorf(executor.ErrNoBackend, "", "the CDP endpoint does not respond: %w", err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode/100 != 2:
		return executor.Errorf(executor.ErrInternal, "Restart that chrome-mcp: it may have another version.",
			"the CDP endpoint responded with the status %d", resp.StatusCode)
	case result != nil:
		return json.NewDecoder(resp.Body).Decode(result)
	}
	return nil
}

// printClients prints the CDP clients, one per line.
func printClients(s *cli.Settings, stdout io.Writer) error {
	none := true
	err := eachClient(context.Background(), s, func(_ string, c relay.Client) error {
		none = false
		_, err := fmt.Fprintf(stdout, "%-10s %s since %s\n", c.ID, c.Name, c.Since.Format(time.DateTime))
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
	err := eachClient(ctx, s, func(url string, c relay.Client) error {
		if c.ID != name && c.Name != name {
			return nil
		}
		none = false
		if err := request(ctx, http.MethodDelete, url+"/json/clients/"+c.ID, nil); err != nil {
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
