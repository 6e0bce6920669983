package outline

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/chromedp/cdproto/cdp/jsonv2"
)

// ErrGone is returned by [Decode] if the root element of the walk was removed.
var ErrGone = errors.New("element was removed")

// version is the version of the walk's format, which snapshot.js describes.
const version = 1

// maxDepth is the maximum nesting: deeper nodes become siblings.
const maxDepth = 200

// columns is the result of a walk: one entry per node in the fields with short names, and three
// columns for properties that few nodes have.
type columns struct {
	Version    int          `json:"v"`
	Error      string       `json:"error"`
	URL        string       `json:"url"`
	Title      string       `json:"title"`
	Depths     []int        `json:"d"`
	RoleIDs    []int        `json:"r"`
	Flags      []Flags      `json:"f"`
	IDs        []int        `json:"i"`
	Names      []string     `json:"n"`
	Roles      []string     `json:"roles"`
	ExtraAt    []int        `json:"xi"`
	Kinds      string       `json:"xk"`
	Extras     []string     `json:"xv"`
	CutAt      []int        `json:"ci"`
	CutKind    string       `json:"ck"`
	CutRest    []int        `json:"cr"`
	CutHash    []uint32     `json:"ch"`
	Behind     int          `json:"behind"`
	Hosts      []int        `json:"hosts"`
	Customs    []int        `json:"customs"`
	Clickables []int        `json:"clickables"`
	Signs      jsonv2.Value `json:"signs"`
	Record     int          `json:"at"`
	Replaced   []int        `json:"replaced"`
}

// Decode builds a document from the JSON that the walk returned. key becomes the document's Key.
// Decode returns ErrGone if the root element of the walk was removed.
func Decode(data []byte, key string) (*Document, error) {
	var c columns
	if err := jsonv2.Unmarshal(data, &c, jsonv2.AllowInvalidUTF8(true)); err != nil {
		return nil, fmt.Errorf("outline: %w", err)
	}
	switch c.Error {
	case "":
	case "gone":
		return nil, ErrGone
	case "empty":
		return &Document{Key: key}, nil
	default:
		return nil, fmt.Errorf("outline: walk says %q", c.Error)
	}
	n := len(c.Depths)
	if c.Version != version {
		return nil, fmt.Errorf("outline: format version %d, want %d", c.Version, version)
	}
	if len(c.RoleIDs) != n || len(c.Flags) != n || len(c.IDs) != n || len(c.Names) != n ||
		len(c.Kinds) != len(c.ExtraAt) || len(c.Extras) != len(c.ExtraAt) {
		return nil, errors.New("outline: columns of different lengths")
	}
	doc := &Document{Key: key, URL: c.URL, Title: c.Title, InertNodes: max(c.Behind, 0), ClosedRootCandidates: c.Hosts, Customs: c.Customs, Clickables: c.Clickables, ObstacleSignals: c.Signs, Record: c.Record, Replaced: c.Replaced, byID: make(map[int]*Node, n), size: n}
	nodes := make([]Node, n)
	path := make([]*Node, 0, 32) // the last node at each depth
	at := make([]int, 0, 32)     // and the depth of each in the walk
	for i := range nodes {
		if c.RoleIDs[i] < 0 || c.RoleIDs[i] >= len(c.Roles) {
			return nil, fmt.Errorf("outline: node %d has no role", i)
		}
		node := &nodes[i]
		node.Doc, node.ID, node.Role, node.Name, node.Flags = doc, max(c.IDs[i], 0), c.Roles[c.RoleIDs[i]], c.Names[i], c.Flags[i]
		if node.ID != 0 {
			doc.byID[node.ID] = node
		}
		for len(at) > 0 && (at[len(at)-1] >= c.Depths[i] || len(at) >= maxDepth) {
			path, at = path[:len(path)-1], at[:len(at)-1]
		}
		if len(path) == 0 {
			doc.Roots = append(doc.Roots, node)
		} else {
			parent := path[len(path)-1]
			parent.Children = append(parent.Children, node)
		}
		path, at = append(path, node), append(at, c.Depths[i])
	}
	for i, index := range c.ExtraAt {
		if index < 0 || index >= n {
			return nil, fmt.Errorf("outline: extra for node %d of %d", index, n)
		}
		nodes[index].setExtra(c.Kinds[i], c.Extras[i])
	}
	if len(c.CutKind) != len(c.CutAt) || len(c.CutRest) != len(c.CutAt) || len(c.CutHash) != len(c.CutAt) {
		return nil, errors.New("outline: columns of different lengths")
	}
	for i, index := range c.CutAt {
		l := long{kind: c.CutKind[i], rest: max(c.CutRest[i], 0), hash: c.CutHash[i]}
		switch {
		case index == -1 && (l.kind == 'n' || l.kind == 'u'):
			doc.long = append(doc.long, l)
		case index >= 0 && index < n && nodes[index].piece(l.kind) != nil:
			nodes[index].long = append(nodes[index].long, l)
			doc.longAt = append(doc.longAt, &nodes[index])
		default:
			return nil, fmt.Errorf("outline: long text for node %d of %d", index, n)
		}
	}
	return doc, nil
}

func (n *Node) setExtra(kind byte, value string) {
	switch kind {
	case 'l':
		n.Level, _ = strconv.Atoi(value)
	case 'm':
		n.OptionCount, _ = strconv.Atoi(value)
	default:
		if s := n.piece(kind); s != nil {
			*s = value
		}
	}
}
