package bridge

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/nativemessage"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// maxNativeRequest is the maximum size of a request of the extension, in bytes.
const maxNativeRequest = 64 << 10

type nativeRequest struct {
	V            int    `json:"v"`
	Type         string `json:"type"`
	Installation string `json:"installation"` // of the extension
}

type nativeServer struct {
	Port    int    `json:"port"`
	Token   string `json:"token"`
	PID     int    `json:"pid"`
	Name    string `json:"name"`
	Started int64  `json:"started"`         // in milliseconds since 1970
	Given   bool   `json:"given,omitempty"` // whether it is restricted to tabs that the user gives to it
}

type nativeResponse struct {
	V       int            `json:"v"`
	Servers []nativeServer `json:"servers"`
}

// A nativeChange reports that the list of servers has changed.
type nativeChange struct {
	V       int  `json:"v"`
	Changed bool `json:"changed"`
}

type nativeError struct {
	V     int    `json:"v"`
	Error string `json:"error"`
}

// nativeInterval is how often the native messaging host checks for started and stopped servers, so
// that an agent's first call finds its browser. A check reads a few small files.
const nativeInterval = 500 * time.Millisecond

// ServeNative runs the native messaging host. The browser started it for the extension at origin,
// which has the form chrome-extension://<id>/. ServeNative returns an error for any extension whose id
// is not one of extensionIDs. The first one is [Options.ExtensionID] of the servers to list.
//
// It reads requests from in and writes the list of running servers to out. When the list changes,
// it writes a notification, so that the extension can send another request. It returns nil when in
// ends. Its errors are not [errs.Error] values. After an error that is not caused by in, a
// goroutine may read from in once more.
func ServeNative(dataDir string, extensionIDs []string, origin string, in io.Reader, out io.Writer) error {
	if !slices.ContainsFunc(extensionIDs, func(id string) bool { return origin == extensionOrigin(id)+"/" }) {
		return errors.New("the caller is not the chrome-mcp extension")
	}
	h := &nativeHost{dataDir: &dataDirectory{dataDir}, extensionID: extensionIDs[0], out: out}
	var first nativeRequest
	err := nativemessage.Read(in, maxNativeRequest, &first)
	if err := h.answer(first, err); err != nil {
		return err
	}
	type read struct {
		request nativeRequest
		err     error
	}
	requests, done := make(chan read), make(chan struct{})
	defer close(done)
	go func() {
		for err := error(nil); err == nil; {
			var r read
			err = nativemessage.Read(in, maxNativeRequest, &r.request)
			r.err = err
			select {
			case requests <- r:
			case <-done:
				return
			}
		}
	}()
	tick := time.NewTicker(nativeInterval)
	defer tick.Stop()
	for {
		var err error
		select {
		case r := <-requests:
			if errors.Is(r.err, io.EOF) {
				return nil // the extension or its browser exited
			}
			err = h.answer(r.request, r.err)
		case <-tick.C:
			err = h.poll()
		}
		if err != nil {
			return err
		}
	}
}

// A nativeHost serves one browser.
type nativeHost struct {
	dataDir     *dataDirectory
	extensionID string
	out         io.Writer

	installation string         // of the last request
	lastServers  []nativeServer // of the last response or notification
}

func (h *nativeHost) answer(request nativeRequest, err error) error {
	if err != nil {
		return err
	}
	if request.V != wire.NativeVersion {
		err := &wire.VersionError{Got: strconv.Itoa(request.V), Want: wire.NativeVersion}
		return nativemessage.Write(h.out, nativeError{wire.NativeVersion, err.Error()})
	}
	if request.Type != "servers" {
		return nativemessage.Write(h.out, nativeError{wire.NativeVersion, "unknown request type"})
	}
	h.installation = request.Installation
	h.lastServers = h.servers()
	return nativemessage.Write(h.out, nativeResponse{wire.NativeVersion, h.lastServers})
}

// poll notifies the extension if the list of servers has changed.
func (h *nativeHost) poll() error {
	now := h.servers()
	if slices.Equal(now, h.lastServers) {
		return nil
	}
	h.lastServers = now
	return nativemessage.Write(h.out, nativeChange{wire.NativeVersion, true})
}

// servers lists the servers that the extension can connect to.
func (h *nativeHost) servers() []nativeServer {
	list := []nativeServer{}
	for _, r := range h.dataDir.runningServers() {
		if r.ExtensionID == h.extensionID && (r.Installation == "" || r.Installation == h.installation) {
			list = append(list, nativeServer{r.Port, r.Token, r.PID, r.Name, r.Started, r.Installation != ""})
		}
	}
	return list
}
