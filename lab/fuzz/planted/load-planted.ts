/** Preloaded into a process (`--import`): the sources are loaded with the bug in them that `PLANTED_BUG` names. */
import { plantWhenLoaded } from '../../chaos/planted/plant-when-loaded.ts';
import { PLANTED } from './planted.ts';

plantWhenLoaded(PLANTED);
