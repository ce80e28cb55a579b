import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { grafanaText } from './dashboard-text.ts';
import { DASHBOARDS } from './dashboards.ts';

for (const dashboard of DASHBOARDS)
  writeFileSync(join(import.meta.dirname, '../dashboards', `${dashboard.uid}.json`), grafanaText(dashboard));
