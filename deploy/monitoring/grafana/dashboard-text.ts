import type { Dashboard, Panel, Row } from './panels.ts';

const SCHEMA_VERSION = 39;
const COLUMNS = 24;
const PANEL_HEIGHT = 8;
const TITLE_HEIGHT = 1;
const SOURCE = { type: 'prometheus', uid: '$datasource' };

/** As Grafana imports it. */
export function grafanaText({ uid, title, rows }: Dashboard): string {
  const dashboard = {
    uid,
    title,
    tags: ['fleetgc'],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    refresh: '1m',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [{ name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' }],
    },
    panels: rows
      .flatMap((row, index) => panelsOf(row, index * (TITLE_HEIGHT + PANEL_HEIGHT)))
      .map((panel, index) => ({ id: index + 1, ...panel })),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function panelsOf({ title, panels }: Row, top: number): readonly object[] {
  const width = Math.floor(COLUMNS / panels.length);
  const heading = {
    type: 'row',
    title,
    collapsed: false,
    gridPos: { x: 0, y: top, w: COLUMNS, h: TITLE_HEIGHT },
    panels: [],
  };
  const laid = panels.map((panel, index) => ({
    ...panelOf(panel),
    gridPos: { x: index * width, y: top + TITLE_HEIGHT, w: width, h: PANEL_HEIGHT },
  }));
  return [heading, ...laid];
}

const panelOf = ({ title, description, kind, unit, queries }: Panel): object => ({
  type: kind,
  title,
  description,
  datasource: SOURCE,
  fieldConfig: { defaults: { unit, ...(kind === 'timeseries' && { min: 0 }) }, overrides: [] },
  targets: queries.map(({ expr, legend }, index) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource: SOURCE,
    expr,
    legendFormat: legend,
  })),
});
