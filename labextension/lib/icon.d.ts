import { LabIcon } from '@jupyterlab/ui-components';
export declare const millIcon: LabIcon;
