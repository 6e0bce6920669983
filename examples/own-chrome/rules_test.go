package main

import (
	"reflect"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/ownchrome"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// TestRules checks that each field of a policy.Config arrives in the extension, or is one that only the
// process with the Guard can enforce.
func TestRules(t *testing.T) {
	sent := map[string]struct {
		config policy.Config
		want   bridge.Policy
	}{
		"AllowDomains":       {policy.Config{AllowDomains: []string{"example.com"}}, bridge.Policy{Allow: []string{"example.com"}, Subresources: "public"}},
		"BlockDomains":       {policy.Config{BlockDomains: []string{"example.com"}}, bridge.Policy{Block: []string{"example.com"}, Subresources: "public"}},
		"AllDomains":         {policy.Config{AllDomains: true}, bridge.Policy{UnsafeAll: true, Subresources: "public"}},
		"Eval":               {policy.Config{Eval: true}, bridge.Policy{Subresources: "same"}},
		"Subresources":       {policy.Config{Subresources: policy.SubresourcesSame}, bridge.Policy{Subresources: "same"}},
		"SubresourceDomains": {policy.Config{Subresources: policy.SubresourcesList, SubresourceDomains: []string{"cdn.example.com"}}, bridge.Policy{Resources: []string{"cdn.example.com"}, Subresources: "list"}},
		"AllowPrivate":       {policy.Config{AllowPrivate: []string{"10.0.0.0/8"}}, bridge.Policy{Private: []string{"10.0.0.0/8"}, Subresources: "public"}},
		"OwnPorts":           {policy.Config{OwnPorts: []int{8080}}, bridge.Policy{OwnPorts: []int{8080}, Subresources: "public"}},
	}
	guarded := map[string]bool{"Mutations": true, "Downloads": true, "Clipboard": true, "Storage": true, "StateDir": true, "UploadsDir": true}
	for i := range reflect.TypeFor[policy.Config]().NumField() {
		field := reflect.TypeFor[policy.Config]().Field(i).Name
		tt, ok := sent[field]
		if ok == guarded[field] {
			t.Errorf("%s is in one of the lists: %t, %t", field, ok, guarded[field])
		}
		if !ok {
			continue
		}
		rules, err := policy.New(tt.config)
		if err != nil {
			t.Fatal(err)
		}
		if got := ownchrome.Rules(rules); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: the extension gets %+v, want %+v", field, got, tt.want)
		}
	}
}
