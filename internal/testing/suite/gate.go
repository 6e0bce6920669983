package suite

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A Keeper is a Gate that denies some origins and records all accesses.
type Keeper struct {
	Mu     sync.Mutex
	denied func(executor.Access) bool
	asked  []executor.Access
	During func(executor.Access) // called once, during a gate decision
}

// Check is the method of executor.Gate.
func (k *Keeper) Check(_ context.Context, a executor.Access) error {
	k.Mu.Lock()
	during := k.During
	k.During = nil
	k.Mu.Unlock()
	if during != nil {
		during(a)
	}
	k.Mu.Lock()
	defer k.Mu.Unlock()
	k.asked = append(k.asked, a)
	if k.denied != nil && k.denied(a) {
		return executor.Errorf(executor.ErrPolicyDenied, "The user decides.", "%s of %s is not allowed", a.Op, a.Origin)
	}
	return nil
}

// Deny replaces the function that decides what is denied.
func (k *Keeper) Deny(denied func(executor.Access) bool) {
	k.Mu.Lock()
	defer k.Mu.Unlock()
	k.denied = denied
}

// DenyOrigin denies documents of and navigations to one origin.
func (k *Keeper) DenyOrigin(origin string) {
	k.Deny(func(a executor.Access) bool {
		if strings.HasPrefix(a.Destination, origin+"/") {
			return true
		}
		leaving := (a.Op == executor.OpNavigate || a.Op == executor.OpDismiss) && a.OpenedBySession // allowed for every site
		return a.Origin == origin && !leaving
	})
}

// Accesses returns the recorded accesses of an operation.
func (k *Keeper) Accesses(op executor.Operation) []executor.Access {
	k.Mu.Lock()
	defer k.Mu.Unlock()
	return slices.DeleteFunc(slices.Clone(k.asked), func(a executor.Access) bool { return a.Op != op })
}

// Gated runs a case in a session whose gate is a Keeper.
func (s *Runner) Gated(t *testing.T, name, file string, f func(c *Case, k *Keeper)) {
	k := &Keeper{}
	s.PageWith(t, name, file, executor.SessionOptions{Gate: k}, func(c *Case) { f(c, k) })
}
