package executor

import "context"

// Ready prepares the current backend.
func (m *Manager) Ready(ctx context.Context) error {
	s, err := m.session(ctx)
	if err != nil {
		return Wrap("ready", "", err)
	}
	return s.Ready(ctx)
}

// Ping reports whether the browser of the current backend answers. It launches nothing.
func (m *Manager) Ping(ctx context.Context) error {
	s, err := m.session(ctx)
	if err != nil {
		return Wrap("ping", "", err)
	}
	return s.Ping(ctx)
}

// Tabs lists only the tabs of the current backend.
func (m *Manager) Tabs(ctx context.Context) ([]Tab, error) {
	s, err := m.session(ctx)
	if err != nil {
		return nil, Wrap("list tabs", "", err)
	}
	return s.Tabs(ctx)
}

func (m *Manager) SelectTab(ctx context.Context, tab TabID) (*Tab, error) {
	s, err := m.sessionOf(ctx, tab)
	if err != nil {
		return nil, Wrap("select tab", tab, err)
	}
	return s.SelectTab(ctx, tab)
}

// Page selects the backend of the page. The page keeps it: after a backend switch, ask for another
// page.
func (m *Manager) Page(ctx context.Context, tab TabID) (Page, error) {
	s, err := m.sessionOf(ctx, tab)
	if err != nil {
		return nil, Wrap("page", tab, err)
	}
	return s.Page(ctx, tab)
}

func (m *Manager) NewPage(ctx context.Context, opts *NewPageOptions) (Page, *Tab, error) {
	s, err := m.session(ctx)
	if err != nil {
		return nil, nil, Wrap("new page", "", err)
	}
	return s.NewPage(ctx, opts)
}

// Navigate does not depend on the active tab, so it is also valid after a backend switch.
func (m *Manager) Navigate(ctx context.Context, url string, opts *NavigateOptions) (*Navigation, error) {
	s, err := m.session(ctx)
	if err != nil {
		return nil, Wrap("navigate", "", err)
	}
	return s.Navigate(ctx, url, opts)
}

func (m *Manager) SaveState(ctx context.Context, name string) (*StateResult, error) {
	s, err := m.sessionOf(ctx, "")
	if err != nil {
		return nil, Wrap("save state", "", err)
	}
	return s.SaveState(ctx, name)
}

// LoadState uses no tab, so it uses any available browser.
func (m *Manager) LoadState(ctx context.Context, name string) (*StateResult, error) {
	s, err := m.session(ctx)
	if err != nil {
		return nil, Wrap("load state", "", err)
	}
	return s.LoadState(ctx, name)
}
