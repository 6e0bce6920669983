package frames

import (
	"context"
	"errors"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A Client is the access of one client to the documents of a tab, as its gate allows it. Its
// methods are safe for concurrent use.
type Client struct {
	Tree *Tree
	Tab  executor.TabID
	Gate executor.Gate
	// OpenedBySession reports whether one of our sessions opened the tab.
	OpenedBySession func() bool
	// CheckMasked returns an error if the user entered something in d that an operation must not see.
	// It is called after the gate has allowed op on d.
	CheckMasked func(ctx context.Context, d *Document, op executor.Operation) error
}

// Check checks with the gate whether op is allowed on d. destination is the URL of a navigation or
// download, if op has one. Check also denies what depends on the content of a document in which the
// user entered something that is not masked yet.
func (c *Client) Check(ctx context.Context, d *Document, op executor.Operation, destination string) error {
	if err := c.CheckGate(ctx, d, op, destination); err != nil {
		return err
	}
	return c.CheckMasked(ctx, d, op)
}

// CheckGate checks with the gate whether op is allowed on d.
func (c *Client) CheckGate(ctx context.Context, d *Document, op executor.Operation, destination string) error {
	access := executor.Access{
		Tab: c.Tab, Document: string(d.Loader), URL: d.URL, Origin: d.Origin,
		Op: op, Destination: destination, OpenedBySession: c.OpenedBySession(), ErrorPage: d.ErrorPage,
	}
	if !d.IsTop() {
		access.Frame = string(d.Frame)
	}
	err := c.Gate.Check(ctx, access)
	if err == nil {
		return access.CheckErrorPage()
	}
	if !errors.Is(err, executor.ErrPolicyDenied) && !errors.Is(err, executor.ErrConsentRequired) {
		// Any error of a gate is a denial.
		return &executor.Error{Code: executor.ErrPolicyDenied, Err: err}
	}
	return err
}

// Document returns the top document if the gate allows op on it.
func (c *Client) Document(ctx context.Context, op executor.Operation) (*Document, error) {
	d, err := c.Tree.TopDocument(ctx)
	if err != nil {
		return nil, err
	}
	return d, c.Check(ctx, d, op, "")
}

// Allowed returns the documents of the tab, parents first, that the gate allows op on. It omits
// documents below a denied one, because they would reveal what surrounds them, and those below an
// unknown one, which may be denied.
func (c *Client) Allowed(ctx context.Context, op executor.Operation) []*Document {
	c.Tree.WaitForFrames(ctx)
	denied := make(map[cdp.FrameID]bool)
	var list []*Document
	for _, d := range c.Tree.AllDocuments() {
		switch {
		case denied[d.Parent], d.World != "" && c.Check(ctx, d, op, "") != nil:
			denied[d.Frame] = true
		case d.World == "":
			denied[d.Frame] = !c.Tree.isInitial(d.Frame) // an empty document belongs to the parent
		default:
			list = append(list, d)
		}
	}
	return list
}

// AllReadable reports whether the gate allows reading all documents of the tab, and whether all of
// them are known: a document that is not known is not readable.
func (c *Client) AllReadable(ctx context.Context) (readable, known bool) {
	for _, d := range c.Tree.AllDocuments() {
		if d.World == "" {
			return false, false
		}
		if c.Check(ctx, d, executor.OpRead, "") != nil {
			return false, true
		}
	}
	return true, true
}

// CheckFrame checks with the gate whether op is allowed on the document of a frame, and whether the
// documents around it may be read, because the frame would reveal them.
func (c *Client) CheckFrame(ctx context.Context, id cdp.FrameID, op executor.Operation, destination string) error {
	path := c.Tree.pathTo(id)
	if len(path) == 0 || !path[len(path)-1].IsTop() {
		return &executor.Error{Code: executor.ErrPolicyDenied, Retryable: true, Err: errors.New("the frame was removed, or is not known yet"), Hint: "Take a new snapshot."}
	}
	for i, d := range path {
		if i > 0 {
			op, destination = executor.OpRead, ""
		}
		if err := c.Check(ctx, d, op, destination); err != nil {
			return err
		}
	}
	return nil
}

// CanRead reports whether the client may read the document of a frame and those around it. It
// returns false for an unknown frame.
func (c *Client) CanRead(ctx context.Context, id cdp.FrameID) bool {
	return c.CheckFrame(ctx, id, executor.OpRead, "") == nil
}

// CheckTop checks with the gate whether op is allowed on what is known of the top document.
func (c *Client) CheckTop(ctx context.Context, op executor.Operation, destination string) error {
	s := c.Tree.Lock()
	d := s.BestKnownDocument()
	s.Unlock()
	return c.Check(ctx, d, op, destination)
}

// pathTo returns what is known of the document of a frame and of the documents around it.
func (t *Tree) pathTo(id cdp.FrameID) []*Document {
	s := t.Lock()
	defer s.Unlock()
	var path []*Document
	for f := s.Frame(id); f != nil; f = s.Frame(f.parent) {
		if s.isInitial(f) {
			continue // its empty document belongs to the parent
		}
		d := s.Document(f)
		if d == nil && f == s.Top() {
			d = s.BestKnownDocument()
		}
		if d == nil {
			d = t.documentOf(f.id, f.url, executor.OriginOpaque)
			d.Parent = f.parent
		}
		path = append(path, d)
	}
	return path
}

// KnowsDocument reports whether the document that a frame shows is known, so that a check by the
// gate has a meaning.
func (t *Tree) KnowsDocument(id cdp.FrameID) bool {
	s := t.Lock()
	defer s.Unlock()
	return s.KnowsDocument(id)
}

// KnowsDocument is Tree.KnowsDocument.
func (s *State) KnowsDocument(id cdp.FrameID) bool {
	f := s.Frame(id)
	for f != nil && s.isInitial(f) {
		f = s.Frame(f.parent)
	}
	return f != nil && (f == s.Top() || f.world != nil)
}
