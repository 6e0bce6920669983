package chromium

// CloseUnused terminates the browsers that no Backend uses, which would otherwise exit some time
// later, and waits until they and their profiles are gone.
func (p *Pool) CloseUnused() {
	p.mu.Lock()
	var unused []*pooledBrowser
	for _, b := range p.browsers {
		if b.users == 0 {
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
