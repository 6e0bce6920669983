// Package pagesuite has the cases of a tab that loads, waits, opens others and hangs. Their subject is
// package page, which all backends use, so that the landing tests run them on one backend.
package pagesuite

import "github.com/chrome-mcp/chrome-mcp/internal/testing/suite"

// Topics are the cases that landing tests run.
var Topics = []suite.Topic{
	{Name: "wait_for", Cases: waitFor},
	{Name: "resubmission", Cases: resubmission},
}

// Details are the cases of unusual pages, which deep tests run.
var Details = []suite.Topic{
	{Name: "navigation_dialogs", Cases: navigationDialogs},
	{Name: "navigation_loading", Cases: navigationLoading},
	{Name: "navigation_history", Cases: navigationHistory},
	{Name: "navigation_popups", Cases: navigationPopups},
	{Name: "navigation_downloads", Cases: navigationDownloads},
	{Name: "navigation_hung_pages", Cases: hungPages},
	{Name: "navigation_console_flood", Cases: consoleFlood},
	{Name: "navigation_waiting", Cases: navigationWaiting},
	{Name: "navigation_background_tabs", Cases: backgroundTabs},
}
