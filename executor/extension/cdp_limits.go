package extension

import (
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// Limits of the memory that a client uses, in bytes.
const (
	// maxSending is the size of the commands of a client without a result beyond which further ones fail:
	// tools send their commands through the same queue.
	maxSending = wire.MaxQueued / 4
	// maxStored is the size of what is stored for a client: the setup commands of its sessions, and what
	// it has set in its tabs. The setup commands of a session have at most maxSending, so that all can be
	// sent when the debugger is attached.
	maxStored = wire.MaxQueued
)

// weigh returns what a command of a size counts for maxSending. A command of any size is accepted, one
// at a time.
func weigh(size int) int { return min(size, maxSending*3/4) }

// errTooManyCommands is the error of a command beyond maxSending.
var errTooManyCommands = serverError("too many commands without a result: wait for the results")

// countStored updates the size of what is stored for s.
func (s *cdpSession) countStored() {
	n := s.setup.size() + s.target.settings.Size(s)
	s.client.stored += n - s.stored
	s.stored = n
}

// fits reports whether a setup command can be stored.
func (su *setup) fits(m executor.CDPMessage) bool {
	n := int(sizeOf(m))
	if i := su.replaced(m); i >= 0 {
		n -= int(sizeOf(su.commands[i]))
	}
	return su.session.stored+n <= maxSending && su.session.client.stored+n <= maxStored
}

// errSetupTooLarge is the error of a setup command that does not fit.
var errSetupTooLarge = serverError("the commands wait for the debugger, and are larger than %d MiB in a session or %d MiB in all: send less, or act in the tab first",
	maxSending>>20, maxStored>>20)

// errSettingTooLarge is the error of a command that sets something beyond maxStored.
var errSettingTooLarge = serverError("the settings of the client in its tabs are larger than %d MiB: set less", maxStored>>20)

// size returns the size of what su stores.
func (su *setup) size() (n int) {
	for _, m := range su.commands {
		n += int(sizeOf(m))
	}
	for _, x := range su.Contexts {
		n += len(x.Name)
	}
	for _, x := range su.Scripts {
		n += len(x.World)
	}
	return n
}

// wait stores a command until the debugger is attached. It reports whether it can.
func (su *setup) wait(m executor.CDPMessage) bool {
	c := su.session.client
	n := weigh(int(sizeOf(m)))
	if c.waiting+n > maxSending {
		return false
	}
	c.waiting += n
	su.waiting = append(su.waiting, m)
	return true
}

// takeWaiting returns the commands that wait for the debugger, and forgets them.
func (su *setup) takeWaiting() []executor.CDPMessage {
	waiting := su.waiting
	su.waiting = nil
	for _, m := range waiting {
		su.session.client.waiting -= weigh(int(sizeOf(m)))
	}
	return waiting
}
