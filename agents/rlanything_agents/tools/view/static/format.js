"use strict";
// Numbers as people read them.

RL.percent = (value, digits = 0) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(digits)} %`);

RL.signed = (value, digits = 2) => {
  if (value === null || value === undefined) return "–";
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : value < 0 ? `−${text}` : `+${text}`;
};

RL.count = (value) => (value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en-US"));

RL.short = (value) => {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e6 || size < 1e-3) return value.toExponential(1).replace("-", "−");
  if (size >= 1000) return RL.count(value);
  return String(Number(value.toPrecision(3))).replace("-", "−");
};

RL.duration = (seconds) => {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
};

RL.plural = (number, word) => `${RL.count(number)} ${word}${number === 1 ? "" : "s"}`;

RL.outcome = (outcome) => (outcome === 1 ? "solved" : outcome === -1 ? "failed" : "void");
