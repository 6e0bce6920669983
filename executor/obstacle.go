package executor

// An Obstacle is a page-level blocker: a captcha, a denied access, a required login or a consent
// banner. Detection uses properties that pages of that kind have in common, and prefers a missed
// obstacle over a false one. An Obstacle contains no page text.
type Obstacle struct {
	Kind       ObstacleKind `json:"kind"`
	Confidence Confidence   `json:"confidence"`
	// Advice says, in one or two sentences, what the user or the client can do.
	Advice string `json:"advice"`
}

// An ObstacleKind is a kind of [Obstacle].
type ObstacleKind string

// The kinds of obstacle.
const (
	ObstacleCaptcha ObstacleKind = "captcha"       // a check whether the user is human
	ObstacleDenied  ObstacleKind = "access-denied" // the site denies access to the page
	ObstacleLogin   ObstacleKind = "login"         // the page requires a login
	ObstacleConsent ObstacleKind = "consent"       // a cookie or privacy dialog covers the page
)

// Confidence is the certainty of a detection.
type Confidence string

// The values of Confidence.
const (
	ConfidenceHigh Confidence = "high" // the client cannot continue before the obstacle is gone
	ConfidenceLow  Confidence = "low"  // the page may be usable anyway
)
