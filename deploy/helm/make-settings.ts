import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAllVerbs } from '../../cli/verbs.ts';
import { chartSettingsText } from './chart-settings.ts';

writeFileSync(
  join(import.meta.dirname, 'fleetgc/files/settings.yaml'),
  chartSettingsText(await loadAllVerbs()),
);
