// Follows the timeline's own script on the page: puts the timeline into the place of the still picture. Where that fails,
// the still picture stays and the reason is written under it.
{
  const place = document.getElementById("timeline");
  const stills = [...place.children];
  const timeline = document.createElement("div");
  try {
    place.append(timeline);
    globalThis.view = await mount(timeline, $data, fromHash($options));
    followHash(view);
    for (const still of stills) still.remove();
    place.setAttribute("data-ready", "");
  } catch (error) {
    timeline.remove();
    const note = document.createElement("p");
    note.className = "note";
    note.textContent = "This is a still picture: the interactive one could not be drawn (" + error.message + ").";
    place.after(note);
  }
}
