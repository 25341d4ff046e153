// In the output of some of a notebook's cells: hands the front end to the timelines in all of them.
(() => {
$evaluated
if (globalThis[EDITION]) return;
globalThis[EDITION] = evaluated(Uint8Array.from(atob("$packed"), (c) => c.charCodeAt(0)));
globalThis[EDITION].catch((error) => {
  delete globalThis[EDITION];
  console.error(error);
});
dispatchEvent(new Event(EDITION));
})();
