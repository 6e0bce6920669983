package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// TestSlots checks that scripts that wait for a call do not count as computing, and that the scripts of
// one principal do not limit those of another.
func TestSlots(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run := func(principal string) error {
		res, err := Run(t.Context(), "return 1", nil, nil, Limits{Principal: principal})
		if err == nil && res.Value != "1" {
			err = fmt.Errorf("%+v", res)
		}
		return err
	}
	waits := make(chan struct{})
	var all sync.WaitGroup
	for range maxEngines {
		all.Go(func() {
			_, err := Run(ctx, "wait()", []string{"wait"}, func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
				waits <- struct{}{}
				<-ctx.Done()
				return nil, nil
			}, Limits{Principal: "a"})
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		await.Receive(t, "the script to wait", waits)
	}
	if err := run("a"); !errors.Is(err, ErrBusy) {
		t.Errorf("Run beyond maxEngines: %v", err)
	}
	if err := run("b"); err != nil {
		t.Errorf("a script of another principal: %v", err)
	}
	cancel()
	all.Wait()
	if err := run("a"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
