package handover

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func question(session, tab string) executor.HandoverQuestion {
	return executor.HandoverQuestion{HandoverAsker: executor.HandoverAsker{Session: session}, Agent: "an agent", Message: "Sign in.", Site: "https://example.com", Tab: executor.TabID(tab)}
}

// ask asks a question and waits for the answer.
func ask(ctx context.Context, d *Desk, q executor.HandoverQuestion) (executor.HandoverOutcome, error) {
	q, _, err := d.Post(q)
	if err != nil {
		return "", err
	}
	return d.Wait(ctx, q.ID)
}

// TestAnswer checks that a caller waits for the answer, that all callers get it, and that it is
// given once.
func TestAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, got := new(Desk), make(chan executor.HandoverOutcome)
		changed := d.Changed()
		for range 2 {
			go func() {
				o, err := ask(t.Context(), d, question("s1", "t1"))
				if err != nil {
					t.Error(err)
				}
				got <- o
			}()
		}
		synctest.Wait()
		open := d.Questions()
		if len(open) != 1 || open[0].Message != "Sign in." || open[0].ID == "" || open[0].Asked.IsZero() {
			t.Fatalf("open questions: %+v", open)
		}
		select {
		case <-changed:
		default:
			t.Error("no change was reported")
		}
		if err := d.Answer(open[0].ID, "yes"); !errors.Is(err, executor.ErrBadArgs) {
			t.Errorf("an unknown outcome: %v", err)
		}
		if err := d.Answer(open[0].ID, executor.OutcomeDone); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if o := <-got; o != executor.OutcomeDone {
				t.Errorf("the outcome is %q", o)
			}
		}
		if err := d.Answer(open[0].ID, executor.OutcomeCannot); !errors.Is(err, executor.ErrBadArgs) {
			t.Errorf("a second answer: %v", err)
		}
		if open := d.Questions(); len(open) != 0 {
			t.Errorf("still open: %+v", open)
		}
	})
}

// TestAnswerIsKept checks that a question stays open when its caller leaves, and that the session's
// next question about the tab gets the answer, for a limited time.
func TestAnswerIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(Desk)
		leave := func() string {
			ctx, cancel := context.WithTimeout(t.Context(), 1)
			defer cancel()
			if _, err := ask(ctx, d, question("s1", "t1")); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("a caller that leaves got %v", err)
			}
			return d.Questions()[0].ID
		}
		id := leave()
		if again := leave(); again != id {
			t.Error("the second call opened a second question")
		}
		if err := d.Answer(id, executor.OutcomeCannot); err != nil {
			t.Fatal(err)
		}
		if q, opened, err := d.Post(question("s2", "t1")); err != nil || !opened {
			t.Errorf("the question of another session: %v, %v", opened, err)
		} else {
			_ = d.Answer(q.ID, executor.OutcomeDone)
		}
		if o, err := ask(t.Context(), d, question("s1", "t1")); o != executor.OutcomeCannot || err != nil {
			t.Errorf("the kept answer: %q, %v", o, err)
		}
		_ = d.Answer(leave(), executor.OutcomeDone)
		time.Sleep(answerTTL)
		if _, opened, err := d.Post(question("s1", "t1")); !opened || err != nil {
			t.Errorf("an expired answer was kept: %v", err)
		}
	})
}

// TestOtherSession checks that one tab has one open question, and that the end of a session ends its
// questions only.
func TestOtherSession(t *testing.T) {
	d := new(Desk)
	first, _, err := d.Post(question("s1", "t1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Post(question("s2", "t1")); !errors.Is(err, executor.ErrBackpressure) {
		t.Errorf("a second session's question about the tab: %v", err)
	}
	other := question("s1", "t1")
	other.Client = "another client of the session"
	if _, _, err := d.Post(other); !errors.Is(err, executor.ErrBackpressure) {
		t.Errorf("another client's question about the tab: %v", err)
	}
	if _, ok := d.Find(other.HandoverAsker, other.Tab); ok {
		t.Error("a question is found for another client")
	}
	if _, _, err := d.Post(question("s2", "t2")); err != nil {
		t.Fatal(err)
	}
	done := d.Done(first.ID)
	d.Forget(executor.HandoverAsker{Session: "s1"})
	<-done
	if open := d.Questions(); len(open) != 1 || open[0].Session != "s2" {
		t.Errorf("open questions: %+v", open)
	}
	if _, err := d.Wait(t.Context(), first.ID); !errors.Is(err, executor.ErrBadArgs) {
		t.Errorf("waiting for a forgotten question: %v", err)
	}
}

// TestKeptAnswersAreLimited checks the number of kept answers of a principal, whose answers do not
// displace those of another one.
func TestKeptAnswersAreLimited(t *testing.T) {
	d := new(Desk)
	other := question("s", "other")
	other.Principal = "other"
	kept, _, err := d.Post(other)
	if err == nil {
		err = d.Answer(kept.ID, executor.OutcomeDone)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * maxKept {
		q, _, err := d.Post(question("s", fmt.Sprint("t", i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Answer(q.ID, executor.OutcomeDone); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(d.questions); n > maxKept+2 {
		t.Errorf("%d answers are kept", n)
	}
	if o, err := d.Wait(t.Context(), kept.ID); o != executor.OutcomeDone {
		t.Errorf("the answer of another principal: %q, %v", o, err)
	}
}
