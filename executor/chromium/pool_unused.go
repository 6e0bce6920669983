package chromium

// CloseUnused terminates the browsers of a principal that no Backend uses, which would otherwise exit
// some time later, and waits until they and their profiles are gone. See [Options.Principal].
func (p *Pool) CloseUnused(principal string) {
	p.mu.Lock()
	var unused []*pooledBrowser
	for _, b := range p.browsers {
		if b.users == 0 && b.key.principal == principal {
			unused = append(unused, b)
		}
	}
	for _, b := range unused {
		if b.idle != nil {
			b.idle.Stop()
		}
		b.forget()
	}
	p.mu.Unlock()
	for _, b := range unused {
		b.end()
	}
	for _, b := range unused {
		<-b.exited
	}
}
