package cdpendpoint

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/relay"
)

// TestClientsOfFailedEndpoint checks that an endpoint that fails, and a client for which the command fails,
// do not prevent the command for the other clients.
func TestClientsOfFailedEndpoint(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/failed/json/clients" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, `[{"id": "a"}, {"id": "b"}]`)
	}))
	defer site.Close()
	var lists []clientList
	for _, endpoint := range []string{"/failed", "/first", "/second"} {
		lists = append(lists, clientList{url: site.URL + endpoint, transport: site.Client().Transport})
	}
	var ids []string
	errClient := errors.New("no")
	err := eachClientOf(t.Context(), lists, func(_ clientList, c relay.Client) error {
		if ids = append(ids, c.ID); len(ids) == 1 {
			return errClient
		}
		return nil
	})
	if want := []string{"a", "b", "a", "b"}; !errors.Is(err, errClient) || !strings.Contains(err.Error(), "500") || !slices.Equal(ids, want) {
		t.Errorf("clients %q, want %q; %v", ids, want, err)
	}
}
