package page

import "sync"

// reportSubscriptions are the receivers of what page scripts report through the binding. The zero
// value is ready to use. It is safe for concurrent use.
type reportSubscriptions struct {
	mu        sync.Mutex
	receivers map[string]func(payload []byte) // by token
}

// subscribe registers f to be called, not concurrently, with each message that page scripts report
// with a token, until unsubscribe is called. f must not block.
func (r *reportSubscriptions) subscribe(token string, f func(payload []byte)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.receivers == nil {
		r.receivers = make(map[string]func([]byte))
	}
	r.receivers[token] = f
}

// unsubscribe ends a subscription. Its function is not called again.
func (r *reportSubscriptions) unsubscribe(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.receivers, token)
}

// deliver passes a message to the subscriber of its token, if there is one.
func (r *reportSubscriptions) deliver(token string, payload []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.receivers[token]; f != nil {
		f(payload)
	}
}
