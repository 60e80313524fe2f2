// The address of the page: what is shown, in the part of the URL after "#".
//
//    at=120        the row at the top of the screen
//    photo=73911.a1b2…   the row and the identifier of the photo in the detail view
//    look=sepia=…        the look of that photo, if it is not the list's own
//    find, sort, state   the search, the order and the chosen state
//
// The page replaces the address when the list settles, and adds an entry to the history when the
// detail view opens. So Back closes the detail view, and a reload shows the same photos.

export function readAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const [row, id = ""] = (parts.get("photo") ?? "").split(".");
  const whole = (text) => (/^\d+$/.test(text ?? "") ? Number(text) : null);
  return {
    at: whole(parts.get("at")),
    photo: whole(row) === null ? null : { row: whole(row), id },
    look: parts.get("look"),
    find: parts.get("find") ?? "",
    sort: parts.get("sort") ?? "list",
    state: parts.get("state") ?? "",
  };
}

export function hashFor({ at, photo, look, find, sort, state }) {
  const parts = new URLSearchParams();
  if (photo) parts.set("photo", photo.id ? `${photo.row}.${photo.id}` : `${photo.row}`);
  if (photo && look) parts.set("look", look);
  if (at) parts.set("at", at);
  if (find) parts.set("find", find);
  if (sort && sort !== "list") parts.set("sort", sort);
  if (state) parts.set("state", state);
  const hash = parts.toString();
  return hash ? `#${hash}` : "";
}

/// Replaces the address and the history's data about it.
export function writeAddress(address, data) {
  const url = `${location.pathname}${hashFor(address)}`;
  history.replaceState({ ...history.state, ...data }, "", url);
}

/// Adds an address to the history, so that Back returns to the former one.
export function pushAddress(address, data) {
  history.pushState(data, "", `${location.pathname}${hashFor(address)}`);
}
