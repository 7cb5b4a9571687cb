"""Devices that drivers offer and pods claim (dynamic resource allocation): what there is, who may have what."""
