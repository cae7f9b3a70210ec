/** A folder's paths, which browsers do not send with its files; and a word where there are too many of them. */

const READ = /\.(json|jsonl|py|ya?ml|safetensors)$/;
const MOST = 1000;

const folder = document.getElementById("folder");
const files = document.getElementById("files");
const hint = document.getElementById("folder-hint");
const paths = document.getElementById("paths");

/** Keep only what is read, so that a folder with a repository in it does not send thousands of other files. */
function chosen() {
  const wanted = [...folder.files].filter((file) => READ.test(file.name) && !/(^|\/)\./.test(file.webkitRelativePath));
  const names = wanted.map((file) => file.webkitRelativePath || file.name);
  if (wanted.length !== folder.files.length) {
    const kept = new DataTransfer();
    for (const file of wanted) kept.items.add(file);
    folder.files = kept.files;
  }
  paths.value = JSON.stringify(names);
  const many = wanted.length > MOST;
  folder.setCustomValidity(many ? `${wanted.length} files; put them into a .zip` : "");
  hint.textContent = many
    ? `It holds ${wanted.length} files that can be read, and ${MOST} can be sent so. Put them into a .zip.`
    : `${wanted.length} file${wanted.length === 1 ? "" : "s"} of it can be read.`;
  if (wanted.length) files.value = "";
}

folder.closest("[data-needs-script]").hidden = false;
folder.addEventListener("change", chosen);
files.addEventListener("change", () => {
  folder.value = "";
  paths.value = "";
});
