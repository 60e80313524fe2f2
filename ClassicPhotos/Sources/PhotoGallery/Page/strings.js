// The catalogue: every text of the page, in English and Chinese. The browser's language decides.
//
// A text may contain values in braces. A text with a `count` may have a second form, after "|", for
// counts other than 1. Names and reasons come from the server and are shown as they are.

const catalogue = {
  en: {
    photos: "{count} photo|{count} photos",
    currentFilter: "Filter of the list",
    byState: "Photos by state",
    new: "New", downloaded: "Downloaded", filtered: "Filtered", failed: "Failed to load",
    countNew: "{count} new", countDownloaded: "{count} downloaded",
    countFiltered: "{count} filtered", countFailed: "{count} failed",
    inProgress: "In progress", retry: "Retry", retryName: "Retry {name}",
    retryAll: "Retry all failed",
    dismiss: "Dismiss", lost: "Connection lost. Reconnecting…",
    listFailed: "The list of photos could not be loaded. {reason}",
    empty: "There are no photos in this list.",
    noMatch: "No photo matches.", showAll: "Show all photos",
    matches: "{count} match|{count} matches",
    find: "Find by name", tools: "Find, order and view",
    sort: "Order", sortList: "List order", sortName: "Name", sortDate: "Date taken",
    sortSize: "File size", sortState: "State",
    asGrid: "Show as a grid (#)", asList: "Show as a list (#)",
    moved: "The list has changed. The photo of this address is no longer at its place.",
    engine: "Engine room",
    queueDownload: "Downloading", queueFilter: "Decoding and filtering",
    queueWords: "{running} running, {waiting} waiting", queueIdle: "idle",
    queuePaused: "paused, {waiting} waiting", queueScrolling: "waits while you scroll",
    "queue-waiting": "waiting", "queue-running": "running", "queue-finished": "finished",
    "queue-failed": "failed", "queue-cancelled": "no longer needed",
    "figure-throughput": "photos a second", "figure-time": "seconds for each visible photo",
    "figure-hits": "of the pictures from memory", "figure-bytes": "downloaded",
    timelineLabel: "The last 30 seconds: {count} operation, {running} running|"
      + "The last 30 seconds: {count} operations, {running} running",
    now: "now", pause: "Pause", resume: "Resume", cancelAll: "Cancel all", atOnce: "At once",
    narrower: "{name}: fewer at once", wider: "{name}: more at once",
    naive: "Naive mode",
    naiveHelp: "Everything for every photo, one after the other, and nothing is cancelled. "
      + "Switch it on and scroll to feel the difference.",
    ratio: "After a scroll, each visible photo takes {normal} s; in naive mode {naive} s, "
      + "{ratio} times as long.",
    saveTimeline: "Save the timeline for Perfetto",
    close: "Close", previous: "Previous photo", next: "Next photo",
    zoomIn: "Enlarge", zoomOut: "Reduce",
    look: "Look", details: "Details", files: "Files",
    addFilter: "Add a filter", removeFilter: "Remove {name}", listLook: "As in the list",
    compare: "Compare with the original", divider: "Border between before and after",
    notThere: "This photo has not been downloaded yet.", why: "Why is it not there yet?",
    saveResult: "Save result", saveOriginal: "Save original", copyAddress: "Copy address",
    copied: "The address is in the clipboard.",
    taken: "Taken", camera: "Camera", lens: "Lens", exposure: "Exposure", size: "Size",
    format: "Format", place: "Coordinates", source: "Source",
  },
  zh: {
    photos: "{count} 张照片",
    currentFilter: "列表的滤镜",
    byState: "按状态统计的照片",
    new: "未下载", downloaded: "已下载", filtered: "已加滤镜", failed: "加载失败",
    countNew: "{count} 未下载", countDownloaded: "{count} 已下载",
    countFiltered: "{count} 已加滤镜", countFailed: "{count} 失败",
    inProgress: "处理中", retry: "重试", retryName: "重试 {name}",
    retryAll: "重试所有失败的照片",
    dismiss: "关闭", lost: "连接已断开，正在重新连接…",
    listFailed: "无法加载照片列表。{reason}",
    empty: "此列表中没有照片。",
    noMatch: "没有符合条件的照片。", showAll: "显示所有照片", matches: "{count} 个匹配",
    find: "按名称查找", tools: "查找、排序与视图",
    sort: "排序", sortList: "列表顺序", sortName: "名称", sortDate: "拍摄日期",
    sortSize: "文件大小", sortState: "状态",
    asGrid: "以网格显示（#）", asList: "以列表显示（#）",
    moved: "列表已更改，此地址的照片已不在原处。",
    engine: "机房",
    queueDownload: "下载", queueFilter: "解码与滤镜",
    queueWords: "{running} 进行中，{waiting} 等待", queueIdle: "空闲",
    queuePaused: "已暂停，{waiting} 等待", queueScrolling: "滚动时等待",
    "queue-waiting": "等待", "queue-running": "进行中", "queue-finished": "完成",
    "queue-failed": "失败", "queue-cancelled": "不再需要",
    "figure-throughput": "张照片/秒", "figure-time": "秒/可见照片",
    "figure-hits": "的图片来自内存", "figure-bytes": "已下载",
    timelineLabel: "最近 30 秒：{count} 个操作，{running} 个进行中",
    now: "现在", pause: "暂停", resume: "继续", cancelAll: "全部取消", atOnce: "同时进行",
    narrower: "{name}：减少并发", wider: "{name}：增加并发",
    naive: "朴素模式",
    naiveHelp: "逐张处理所有照片，从不取消。打开后滚动即可感受差别。",
    ratio: "滚动后每张可见照片需 {normal} 秒，朴素模式需 {naive} 秒：{ratio} 倍。",
    saveTimeline: "保存 Perfetto 时间线",
    close: "关闭", previous: "上一张", next: "下一张",
    zoomIn: "放大", zoomOut: "缩小",
    look: "外观", details: "详情", files: "文件",
    addFilter: "添加滤镜", removeFilter: "移除{name}", listLook: "与列表相同",
    compare: "与原图比较", divider: "前后对比分界线",
    notThere: "这张照片尚未下载。", why: "为什么还没有？",
    saveResult: "保存结果", saveOriginal: "保存原图", copyAddress: "复制地址",
    copied: "地址已复制到剪贴板。",
    taken: "拍摄时间", camera: "相机", lens: "镜头", exposure: "曝光", size: "尺寸",
    format: "格式", place: "坐标", source: "来源",
    "word-sepia": "怀旧", "word-sepia-css": "怀旧（CSS）", "word-tonal": "灰度",
    "word-monochrome": "单色", "word-noir": "黑白", "word-chrome": "铬黄", "word-fade": "褪色",
    "word-instant": "拍立得", "word-process": "冲印", "word-transfer": "转印",
    "word-vignette": "暗角", "word-blur": "模糊", "word-sharpen": "锐化", "word-tilt-shift": "移轴",
    "word-intensity": "强度", "word-amount": "程度", "word-radius": "半径", "word-center": "中心",
    "word-band": "清晰带",
  },
};

export const language = navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
const texts = catalogue[language];
const digits = new Intl.NumberFormat(language);

/// A number with the separators of the language.
export const number = (value, options) =>
  options ? new Intl.NumberFormat(language, options).format(value) : digits.format(value);

/// Whether the catalogue has a text for a key in this language.
export const has = (key) => key in texts;

/// The text of a key, with its values filled in.
export function text(key, values = {}) {
  const forms = texts[key].split("|");
  const form = forms.length > 1 && values.count !== 1 ? forms[1] : forms[0];
  return form.replace(/\{(\w+)\}/g, (_, name) =>
    typeof values[name] === "number" ? number(values[name]) : values[name] ?? "");
}

/// Fills in the texts of the elements that name their key: `data-text` for the content, and
/// `data-label` for the accessible name, which a pointer shows as well.
export function translate(root) {
  for (const element of root.querySelectorAll("[data-text]")) {
    element.textContent = text(element.dataset.text);
  }
  for (const element of root.querySelectorAll("[data-label]")) {
    const label = text(element.dataset.label);
    element.setAttribute("aria-label", label);
    if (element.matches("button")) element.title = label;
    if (element.matches("input")) element.placeholder = label;
  }
}

/// A number of bytes in the unit that suits it.
export function bytes(count) {
  const [value, unit] =
    count < 1e6 ? [count / 1e3, "kB"] : count < 1e9 ? [count / 1e6, "MB"] : [count / 1e9, "GB"];
  return `${number(value, { maximumFractionDigits: value < 10 ? 1 : 0 })} ${unit}`;
}
