package page

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestHandedOverSince checks that a handover counts for what began before its end.
func TestHandedOverSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := &Tab{openerGroup: new(openerGroup)}
		v := &View{tab: tab}
		start := time.Now()
		if tab.HandedOverSince(start) {
			t.Error("before the handover")
		}
		time.Sleep(time.Second)
		tab.openerGroup.beginHandover(v)
		if !tab.HandedOverSince(start) || !tab.HandedOverSince(time.Now()) {
			t.Error("not during the handover")
		}
		during := time.Now()
		time.Sleep(time.Second)
		tab.openerGroup.endHandover(v)
		time.Sleep(time.Second)
		if !tab.HandedOverSince(during) || tab.HandedOverSince(time.Now()) {
			t.Error("after the handover")
		}
	})
}

// TestUserInput checks that input which waits for the answer to a dialog delays neither that answer
// nor the question of a repeated call, and that the end of a handover waits for it.
func TestUserInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u userInput
		u.accept(true)
		answered := make(chan struct{})
		opened := make(chan error, 1)
		go func() { opened <- u.send(func() error { <-answered; return nil }) }()
		synctest.Wait()
		u.accept(true) // the agent asks again
		ended := make(chan struct{})
		if err := u.send(func() error {
			go func() { u.accept(false); close(ended) }()
			synctest.Wait()
			close(answered)
			return <-opened
		}); err != nil {
			t.Fatal(err)
		}
		<-ended
		if err := u.send(func() error { t.Error("input was sent after the handover"); return nil }); err == nil {
			t.Error("input was accepted after the handover")
		}
		u.accept(true)
		if err := u.send(func() error { return nil }); err != nil {
			t.Errorf("input of the next handover: %v", err)
		}
	})
}
