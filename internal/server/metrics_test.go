package server

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"testing"
)

// TestHTTPMetricsNeedRight checks that the metrics of all principals, and the process of the
// server, are available only to those that may read them.
func TestHTTPMetricsNeedRight(t *testing.T) {
	listener, err := ListenHTTP(HTTPOptions{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	const other = "fedcba9876543210fedcba9876543210"
	listener.AddTokens(
		Credential{sha256.Sum256([]byte(testToken)), &Principal{Name: "ci", Settings: Settings{}, Metrics: true}},
		Credential{sha256.Sum256([]byte(other)), &Principal{Name: "other", Settings: Settings{}}},
	)
	start(t, Options{HTTP: listener})
	for token, want := range map[string]int{testToken: http.StatusOK, other: http.StatusForbidden} {
		header := map[string]string{"Authorization": "Bearer " + token}
		if status, body, _ := (testRequest{path: "/metrics", header: header}).do(t, listener.URL()); status != want || want != http.StatusOK && !strings.Contains(body, "POLICY_DENIED") {
			t.Errorf("/metrics: %d %s, want %d", status, body, want)
		}
		if status, body, _ := (testRequest{path: "/v1/server", header: header}).do(t, listener.URL()); status != http.StatusOK || strings.Contains(body, "pid") {
			t.Errorf("/v1/server: %d %s", status, body)
		}
	}
}
