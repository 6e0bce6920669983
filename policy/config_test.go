package policy

import (
	"reflect"
	"testing"
)

func TestConfigReturnsEffectivePolicy(t *testing.T) {
	p, err := New(Config{AllowDomains: []string{"example.com"}, Eval: true, OwnPorts: []int{5}})
	if err != nil {
		t.Fatal(err)
	}
	p.AddOwnPort(4)
	p.AddOwnPorts(func() []int { return []int{6, 4} })
	got := p.Config()
	want := Config{AllowDomains: []string{"example.com"}, Eval: true, OwnPorts: []int{4, 5, 6}, Subresources: SubresourcesSame}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got.AllowDomains[0] = "evil.example"
	if p.Config().AllowDomains[0] != "example.com" {
		t.Error("changing the result changes the policy")
	}
	if got := (*Policy)(nil).Config(); !reflect.DeepEqual(got, Config{Subresources: SubresourcesSame}) {
		t.Errorf("nil policy: %+v", got)
	}
}
