// Scores of documents by the JSON of skcalrank.export.to_json.
"use strict";

const DAY = 86400e6; // microseconds

/** Return the scores of the documents of one query, objects of values by column. */
function scores(model, rows) {
  if (!rows.length) return [];
  const matrix = rows.map((row) =>
    model.columns.flatMap((column) => READERS[column.kind](column, row[column.name]))
  );
  const numbers = matrix.map((row) =>
    model.numbers.map((k, i) => (Number.isNaN(row[k]) ? model.means[i] ?? NaN : row[k]))
  );
  let members = model.views.map((view) => {
    const curves = CURVES[view.kind](view, numbers);
    return matrix.map((row, i) => {
      const levels = view.levels.map((of, j) => valueOfLevel(of, row[model.categories[j]]));
      return view.intercept + sum(levels) + sum(curves[i].map((x, j) => x * view.coefficients[j]));
    });
  });
  if (model.in_query) {
    const beside = model.numbers.map((k) => scaled(matrix.map((row) => row[k])));
    matrix.forEach((row, i) => row.push(...beside.map((z) => Math.round(z[i] * 1e4) / 1e4)));
  }
  for (const forests of model.trees)
    members.push(matrix.map((row) => sum(forests.map((forest) => forestScore(forest, row)))));
  if (model.by_query) members = members.map((member) => scaled(member, 1e-9));
  else members = members.map((member, k) => member.map((x) => x / model.spreads[k]));
  return rows.map((_, i) => sum(model.weights.map((weight, k) => weight * members[k][i])));
}

const sum = (values) => values.reduce((a, b) => a + b, 0);

// -- columns ---------------------------------------------------------------------------

const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);

function readNumber(column, value) {
  if (isMissing(value)) return [NaN];
  const number = Number(value);
  if ((typeof value === "string" && !column.from_text) || Number.isNaN(number))
    throw new Error(`${column.name} must be a number, got ${value}`);
  return [number - column.offset];
}

function readCategory(column, value) {
  if (isMissing(value)) return [NaN];
  const plain = (level) => (typeof level === "boolean" ? Number(level) : level);
  const code = column.levels.map(plain).indexOf(plain(value));
  if (code >= 0) return [code];
  return [column.rare.map(plain).includes(plain(value)) ? column.levels.length : -1];
}

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:Z|([+-])(\d\d):?(\d\d))?)?$/;

function readDate(column, value) {
  if (isMissing(value)) return Array(1 + column.parts.length).fill(NaN);
  const found = ISO.exec(value);
  if (!found) throw new Error(`${column.name} must be a date, got ${value}`);
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map((x) => Number(x || 0));
  const micro = Number((found[7] || "").padEnd(6, "0").slice(0, 6));
  const ahead = (found[8] === "-" ? -1 : 1) * (60 * Number(found[9] || 0) + Number(found[10] || 0));
  const moment = Date.UTC(year, month - 1, day, hour, minute - ahead, second) * 1000 + micro;
  const days = Math.floor(moment / DAY);
  const inYear = new Date(days * 864e5).getUTCFullYear();
  const parts = {
    weekday: (((days + 3) % 7) + 7) % 7,
    dayofyear: days - Date.UTC(inYear, 0, 1) / 864e5 + 1,
    hour: Math.floor((moment - days * DAY) / 3600e6),
  };
  return [(moment - column.first) / DAY, ...column.parts.map((part) => parts[part])];
}

function readText(column, value) {
  const width = column.words.length ? column.table[0].length : 1;
  const codes = column.levels ? readCategory(column, value) : [];
  if (isMissing(value)) return [...codes, ...Array(column.n_flags + width - 1).fill(NaN)];
  let split = [...new Set(value.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [])];
  if (column.by_letters)
    split = [2, 3].flatMap((n) =>
      split.map((word) => [...word]).flatMap((letters) =>
        letters.slice(n - 1).map((_, i) => letters.slice(i, i + n).join(""))
      )
    );
  const place = new Map(column.words.map((word, k) => [word, k]));
  const known = [...new Set(split)].map((word) => place.get(word)).filter((k) => k !== undefined);
  const sums = Array.from({ length: width }, (_, j) => sum(known.map((k) => column.table[k][j])));
  const squares = sums.pop();
  const norm = squares > 0 ? Math.sqrt(squares) : 1;
  const flags = Array.from({ length: column.n_flags }, (_, k) => Number(known.includes(k)));
  return [...codes, ...flags, ...sums.map((x) => x / norm)];
}

const nothing = () => [];
const READERS = {
  ...{ number: readNumber, flag: readNumber, duration: readNumber },
  ...{ category: readCategory, date: readDate, text: readText },
  ...{ constant: nothing, identifier: nothing, drop: nothing },
};

// -- linear views ------------------------------------------------------------------------

/** Return values with mean 0 and standard deviation 1, or 0 where they are constant. */
function scaled(values, least = 0) {
  // Halves, as differences may overflow.
  const known = values.filter((x) => !Number.isNaN(x)).map((x) => x / 2);
  const low = Math.min(...known);
  const width = Math.max(...known) - low || 1;
  const shares = values.map((x) => (x / 2 - low) / width);
  const present = shares.filter((x) => !Number.isNaN(x));
  const mean = sum(present) / present.length;
  const unit = Math.sqrt(sum(present.map((x) => (x - mean) ** 2)) / present.length);
  const varies = unit * width > least * Math.max(...known.map(Math.abs));
  return shares.map((x) => (x - mean) / (varies ? unit : Infinity));
}

function scaledColumns(view, numbers) {
  const columns = numbers[0].map((_, k) => scaled(numbers.map((row) => row[k])));
  return numbers.map((_, i) => columns.map((column) => column[i]));
}

function hinge(x, start, end) {
  return Math.min(Math.max((x / 2 - start / 2) / (end / 2 - start / 2), 0), 1);
}

function hinges(view, numbers) {
  return numbers.map((row) =>
    view.features.map((k, j) => hinge(row[k], view.starts[j], view.ends[j]))
  );
}

function log(x) {
  return Math.sign(x) * Math.log1p(Math.abs(x));
}

const CURVES = {
  linear: (view, numbers) => numbers,
  scaled: scaledColumns,
  logs: (view, numbers) => numbers.map((row) => row.map(log)),
  hinges: (view, numbers) => hinges(view, numbers),
  log_hinges: (view, numbers) => hinges(view, numbers.map((row) => row.map(log))),
};

/** Return what a code adds; the last values are those of an unseen and of a missing level. */
function valueOfLevel(values, code) {
  if (Number.isNaN(code)) return values[values.length - 1] ?? NaN;
  return values[code < 0 ? values.length - 2 : Math.min(code, values.length - 3)];
}

// -- trees -------------------------------------------------------------------------------

function forestScore(forest, row) {
  let total = 0;
  for (let node of forest.roots) {
    while (node >= 0) {
      const x = row[forest.features[node]];
      const codes = forest.codes[node];
      let below = codes === null ? x <= forest.thresholds[node] : codes.includes(x);
      if (Number.isNaN(x)) below = forest.missing_below[node];
      node = (below ? forest.below : forest.above)[node];
    }
    total += forest.values[-1 - node];
    if (forest.single) total = Math.fround(total); // XGBoost adds in single precision
  }
  return forest.weight * (forest.constant + total);
}

module.exports = { scores };
