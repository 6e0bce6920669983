// Tells of itself, and breaks.
console.log("from elsewhere");
setTimeout(function breaks() {
  throw new Error("broken elsewhere");
});
